// Modules of CommonJS: each file is a function of `exports`, `require` and `module`. Two that require each other see what the
// other has exported so far. Returns the function that loads the file at a path, and gives its module.
(function commonjs(native) {
  "use strict";
  const { find, open, sampan } = native;
  const { apply } = Reflect;
  const modules = { __proto__: null };

  function load(path) {
    const known = modules[path];
    if (known !== undefined) return known;
    const module = { id: path, filename: path, path: folderOf(path), exports: {}, loaded: false, children: [], paths: [] };
    modules[path] = module;
    try {
      const [isCode, value] = open(path);
      if (isCode) {
        const require = (name) => requireFrom(path, name);
        require.cache = modules;
        require.resolve = (name) => find(path, name);
        apply(value, module.exports, [module.exports, require, module, path, module.path, globalThis]);
      } else {
        module.exports = value;
      }
    } catch (error) {
      delete modules[path];
      throw error;
    }
    module.loaded = true;
    return module;
  }

  function requireFrom(path, name) {
    const found = find(path, name);
    return found === "sampan" ? sampan : load(found).exports;
  }

  function folderOf(path) {
    const end = path.lastIndexOf("/");
    return end < 0 ? "." : path.slice(0, end);
  }

  return load;
})
