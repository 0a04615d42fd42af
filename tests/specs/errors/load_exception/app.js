import { app } from "sampan";

function setup() { throw new Error("setup went wrong"); }
setup();
