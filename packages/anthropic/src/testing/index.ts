/**
 * The entry `@devtool/anthropic/testing`: a fake of Anthropic's API for tests
 * in this repository. It is not published.
 */
export {
  type FakeAnthropicOptions,
  startFakeAnthropic,
} from "./fake-anthropic.ts";
