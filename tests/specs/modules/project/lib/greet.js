import shout from "./shout.js";

export const hello = (name) => shout(`hello, ${name}`);
export const inner = shout("in");
