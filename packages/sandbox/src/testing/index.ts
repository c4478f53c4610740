// Internals of @devtool/sandbox for tests in other packages of this repository.
// Not published.
export { createBwrapSandbox } from "../bwrap-sandbox.ts";
export { SETTINGS, SETTINGS_WHEN_PRESENT } from "../guarded-places.ts";
