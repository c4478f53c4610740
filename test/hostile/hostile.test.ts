import { describe } from "vitest";
import { DOCUMENTS } from "./bindings.ts";
import { testNonsense } from "./nonsense.contract.ts";

// Those whose bodies are frames are tested beside it, in
// hostile-frames.test.ts: each half has a server and a client of its own, takes
// about the same time, and so both keep two cores busy.
describe("a server that is sent nonsense in documents (S1)", () =>
  testNonsense(DOCUMENTS));
