"""Records the renderings of Jinja2's own tests, which `tests/jinja2.rs` compares with ours.

Unpack the source distribution of Jinja2 3.1.6, install pytest, trio and that version of Jinja2, and run in its folder:

    PYTHONPATH=THIS_FOLDER python -m pytest -q -p record tests

The cases are written to `cases.json` beside this file. A case is one call of a test that renders a template or that
compiles a wrong one. Left out are: data and globals with Python objects, other syntax or whitespace options, filters,
tests and extensions that we do not have, the sandbox, native types, `random`, and policies. Renderings in an
environment for asynchronous code are recorded, because templates and results are the same.
"""

import json
import pathlib

import jinja2
from jinja2 import defaults
from jinja2.environment import Environment, Template

SYNTAX = ["block_start_string", "block_end_string", "variable_start_string", "variable_end_string",
          "comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix", "trim_blocks",
          "lstrip_blocks", "newline_sequence", "keep_trailing_newline"]
EXTENSIONS = {"ExprStmtExtension", "LoopControlExtension", "WithExtension", "AutoEscapeExtension"}
UNDEFINED = {"Undefined": None, "StrictUndefined": "strict", "ChainableUndefined": "chainable"}

usual = Environment()
test, cases, nesting = "", [], 0


def plain(data):
    """Returns the data with ranges as lists."""
    return {name: list(value) if type(value) is range else value for name, value in data.items()}


def is_plain(value):
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and is_plain(member) for key, member in value.items())
    return value is None or type(value) in (bool, int, float, str)


def is_usual(env):
    """Tells whether templates of this environment mean what they mean to us."""
    return (
        type(env) is Environment and not env.sandboxed and env.finalize is None
        and all(getattr(env, name) == getattr(usual, name) for name in SYNTAX)
        and all(usual.filters.get(name) is body for name, body in env.filters.items())
        and all(usual.tests.get(name) is body for name, body in env.tests.items())
        and {kind.rsplit(".", 1)[-1] for kind in env.extensions} <= EXTENSIONS
        and env.undefined.__name__ in UNDEFINED and env.policies == usual.policies
    )


def templates(env):
    """Reads all templates of the environment's loader, if it can list them."""
    if env.loader is None:
        return {}
    if isinstance(env.loader, jinja2.DictLoader):
        return dict(env.loader.mapping)
    try:
        return {name: env.loader.get_source(env, name)[0] for name in env.list_templates()}
    except (TypeError, RuntimeError, UnicodeDecodeError):
        return {}


def note(env, source, main, data, result):
    data = plain(data)
    files = templates(env)
    text = source if source is not None else files.get(main)
    if not is_usual(env) or not is_plain(data) or text is None or "random" in text or main and not is_plain(files):
        return
    count = sum(known["test"].split("#")[0] == test for known in cases) + 1
    case = {"test": test if count == 1 else f"{test}#{count}"}
    case.update({"source": source} if source is not None else {"main": main})
    case.update({"templates": files} if files else {})
    case.update({"context": data} if data else {})
    escapes = env.autoescape(main) if callable(env.autoescape) else env.autoescape
    case.update({"autoescape": True} if escapes else {})
    kind = UNDEFINED[env.undefined.__name__]
    case.update({"undefined": kind} if kind else {})
    case.update(result)
    cases.append(case)


def noted(call, about):
    """Returns `call`, which also notes its result as a case."""
    def body(self, *args, **kwargs):
        global nesting
        nesting += 1
        try:
            output = call(self, *args, **kwargs)
            result = {"output": output}
            return output
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
            raise
        finally:
            nesting -= 1
            if nesting == 0:
                about(self, args, kwargs, result)
    return body


def about_rendering(template, args, kwargs, result):
    try:
        data = dict(*args, **kwargs)
    except Exception:
        return
    own = {name: value for name, value in template.globals.items() if name not in defaults.DEFAULT_NAMESPACE}
    source = getattr(template, "noted_source", None)
    note(template.environment, source, None if source is not None else template.name,
         {**own, **data}, result)


def about_source(env, args, kwargs, result):
    source = args[0] if args else kwargs.get("source")
    if "error" in result and isinstance(source, str):
        note(env, source, None, {}, result)


def from_string(self, source, *args, **kwargs):
    template = compiled(self, source, *args, **kwargs)
    template.noted_source = source if isinstance(source, str) else None
    return template


def generate(self, *args, **kwargs):
    """Notes what a rendering in pieces gives, when all have been taken."""
    pieces = []
    for piece in in_pieces(self, *args, **kwargs):
        pieces.append(piece)
        yield piece
    about_rendering(self, args, kwargs, {"output": "".join(pieces)})


compiled, in_pieces, rendered_later = Environment.from_string, Template.generate, Template.render_async
Environment.from_string = noted(from_string, about_source)
Template.render = noted(Template.render, about_rendering)
Template.generate = generate


async def render_async(self, *args, **kwargs):
    """Notes what an asynchronous rendering gives, as `noted` does for others."""
    if nesting:
        return await rendered_later(self, *args, **kwargs)
    try:
        output = await rendered_later(self, *args, **kwargs)
        result = {"output": output}
        return output
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
        raise
    finally:
        about_rendering(self, args, kwargs, result)


Template.render_async = render_async


def pytest_runtest_setup(item):
    global test
    test = item.nodeid.removeprefix("tests/")


def pytest_sessionfinish(session):
    lines = ",\n".join(json.dumps(case) for case in cases)
    file = pathlib.Path(__file__).with_name("cases.json")
    file.write_text(f"[\n{lines}\n]\n")
    print(f"\n{len(cases)} cases")
