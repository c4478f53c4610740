// What @devtool/sandbox/testing exports, in this repository alone: what the tests of the whole need of the inside.
export { createBwrapSandbox } from "../bwrap-sandbox.ts";
export { SETTINGS, SETTINGS_WHEN_PRESENT } from "../guarded-places.ts";
