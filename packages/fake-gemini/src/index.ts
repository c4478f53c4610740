// The public names of @devtool/fake-gemini.
export type { FakeModel as FakeGemini } from "@devtool/fake-model";
export { startFakeGemini } from "./fake-gemini.ts";
