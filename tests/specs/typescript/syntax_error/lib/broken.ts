export const fine: number = 1;

export function broken(a: number {
  return a;
}
