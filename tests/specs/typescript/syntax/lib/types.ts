export interface Named {
  name: string;
}
export enum Color {
  Red = 1,
  Green,
}
export namespace Shapes {
  export const sides = 4;
  export function square(side: number): number | undefined {
    return side * side;
  }
}
