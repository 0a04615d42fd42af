import missing from "./lib/missing.js";
