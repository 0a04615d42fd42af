import { app, type Request } from "sampan";
import { Color, Shapes, type Named } from "./lib/types.js";
import { greet } from "./lib/greet";
import { twice } from "@lib/twice";
import * as index from "./lib";

interface Answer extends Named {
  readonly color: Color;
}

abstract class Base<T> {
  declare ghost: T;
  constructor(protected readonly name: string, private count = 2) {}
  abstract area(): number;
  describe(this: Base<T>): string {
    return `${this.name}:${this.count}:${"ghost" in this}`;
  }
}

class Square extends Base<number> implements Named {
  public override area(): number {
    return Shapes.square(3)!;
  }
}

enum Level {
  Low = 1,
  High,
  Max = Low | High,
}

const enum Fast {
  Yes = "yes",
}

function over(value: string): string;
function over(value: number): number;
function over(value: unknown): unknown {
  return value as unknown;
}

const checked = { a: 1 } satisfies Record<string, number>;
const generic = <T,>(value: T): T => value;

app.get("/", (req: Request): Answer & Record<string, unknown> => {
  const square = new Square("square");
  return {
    name: greet(<string>"Ann"),
    color: Color.Red,
    back: Color[1],
    area: square.area(),
    text: square.describe(),
    level: [Level.Max, Level[2], Fast.Yes],
    over: over("x"),
    checked: generic(checked).a,
    twice: twice(2),
    index: index.where,
    path: req!.path,
  };
});
