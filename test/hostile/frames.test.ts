import { describe } from "vitest";
import { FRAMED } from "./bindings.ts";
import { testNonsense } from "./nonsense.contract.ts";

describe("a server that is sent nonsense in frames (S1)", () =>
  testNonsense(FRAMED));
