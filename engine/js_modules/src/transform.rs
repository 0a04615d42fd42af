//! TypeScript and JSX made into JavaScript, by the crates of oxc.
//!
//! Types go, enums, namespaces, parameter properties, old decorators and JSX become plain code. Syntax that the engine
//! knows stays as it is written.

use crate::nesting::with_stack_for;
use crate::source_map::SourceMap;
use crate::tsconfig::TransformSettings;
use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::Diagnostics;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{JsxRuntime, TransformOptions, Transformer};
use sampan_host::{Error, ErrorKind, Place};
use std::path::{Path, PathBuf};

/// The code of a file, and the map from it to the source.
///
/// # Errors
/// The first thing that is wrong with the source, at its place.
pub(crate) fn transform(
    path: &str,
    source: &str,
    settings: &TransformSettings,
) -> Result<(String, SourceMap), Error> {
    let done = with_stack_for(source, || transform_here(path, source, settings));
    done.map_err(|fault| Error::new(ErrorKind::Load, format!("{path}: {fault}")))?
}

fn transform_here(
    path: &str,
    source: &str,
    settings: &TransformSettings,
) -> Result<(String, SourceMap), Error> {
    let allocator = Allocator::default();
    let kind = SourceType::from_path(path)
        .unwrap_or_default()
        .with_module(true);
    let parsed = Parser::new(&allocator, source, kind).parse();
    refuse(path, source, &parsed.diagnostics)?;
    let mut program = parsed.program;
    let checked = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .build(&program);
    refuse(path, source, &checked.diagnostics)?;
    let scoping = checked.semantic.into_scoping();
    let options = options(settings);
    let done = Transformer::new(&allocator, Path::new(path), &options)
        .build_with_scoping(scoping, &mut program);
    refuse(path, source, &done.diagnostics)?;
    let printing = CodegenOptions {
        source_map_path: Some(PathBuf::from(path)),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new()
        .with_options(printing)
        .with_source_text(source)
        .build(&program);
    let no_map = || {
        Error::new(
            ErrorKind::Internal,
            format!("{path}: there is no source map"),
        )
    };
    let map = SourceMap::new(
        &printed.map.ok_or_else(no_map)?,
        vec![path.to_owned()],
        false,
    );
    Ok((printed.code, map))
}

/// Reports whether a file has the syntax of a module, and not only that of a script.
///
/// # Errors
/// It is nested too deeply.
pub(crate) fn is_module(path: &str, source: &str) -> Result<bool, Error> {
    let has_syntax = || {
        let allocator = Allocator::default();
        let options = ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        };
        let parsed = Parser::new(&allocator, source, SourceType::unambiguous())
            .with_options(options)
            .parse();
        parsed.module_record.has_module_syntax
    };
    with_stack_for(source, has_syntax)
        .map_err(|fault| Error::new(ErrorKind::Load, format!("{path}: {fault}")))
}

fn options(settings: &TransformSettings) -> TransformOptions {
    let mut options = TransformOptions::default();
    options.typescript.only_remove_type_imports = settings.verbatim_module_syntax;
    options.decorator.legacy = settings.experimental_decorators;
    options.decorator.emit_decorator_metadata = settings.emit_decorator_metadata;
    options.assumptions.set_public_class_fields = settings.assigns_fields;
    options.typescript.remove_class_fields_without_initializer = settings.assigns_fields;
    if settings.jsx.as_deref() == Some("react") {
        options.jsx.runtime = JsxRuntime::Classic;
        options.jsx.pragma = settings.jsx_factory.clone();
        options.jsx.pragma_frag = settings.jsx_fragment_factory.clone();
    } else {
        options.jsx.runtime = JsxRuntime::Automatic;
        options.jsx.import_source = settings.jsx_import_source.clone();
    }
    options
}

/// The first of the faults, if there is one.
fn refuse(path: &str, source: &str, faults: &Diagnostics) -> Result<(), Error> {
    let Some(fault) = faults.errors().next() else {
        return Ok(());
    };
    let label = fault.labels.as_ref().first();
    let offset = label
        .map_or(0, |label| label.offset() as usize)
        .min(source.len());
    let before = &source[..source.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let mut message = fault.message.to_string();
    if let Some(help) = &fault.help {
        message.push_str(&format!(" ({help})"));
    }
    let place = Place {
        file: path.to_owned(),
        line: line as u32,
    };
    Err(
        Error::new(ErrorKind::Load, format!("SyntaxError: {message}"))
            .at(Some(place))
            .with_stack(format!("at {path}:{line}:{column}")),
    )
}
