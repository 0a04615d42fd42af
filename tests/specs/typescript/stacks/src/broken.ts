// one
// two
// three
// four
export function broken(two: unknown) {
  // here
  throw new Error("bundled");
}
