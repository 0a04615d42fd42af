export function broken(x){throw new Error("bundled")}
//# sourceMappingURL=bundle.js.map
