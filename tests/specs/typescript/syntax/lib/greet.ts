import { Named } from "./types";
export function greet(name: Named["name"]) {
  return `Hello, ${name}`;
}
