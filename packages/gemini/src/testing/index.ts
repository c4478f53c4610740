/**
 * The entry `@devtool/gemini/testing`: a fake of the Gemini API for tests in
 * this repository. It is not published.
 */
export type { FakeModel } from "@devtool/coding-agent/testing/fake-model";
export { startFakeGemini } from "./fake-gemini.ts";
