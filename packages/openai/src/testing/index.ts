/**
 * The entry `@devtool/openai/testing`: a fake of OpenAI's API for tests in this
 * repository. It is not published.
 */
export { type FakeOpenAiOptions, startFakeOpenAi } from "./fake-openai.ts";
