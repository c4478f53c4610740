// The public names of @devtool/fake-gemini.
export {
  type FakeGemini,
  type FakeGeminiOptions,
  type FakeRequest,
  type FakeStats,
  startFakeGemini,
} from "./fake-gemini.ts";
