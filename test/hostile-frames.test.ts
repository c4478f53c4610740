import { describe } from "vitest";
import { FRAMED } from "./hostile/bindings.ts";
import { testNonsense } from "./hostile/nonsense.contract.ts";

describe("a server that is sent nonsense in frames (S1)", () =>
  testNonsense(FRAMED));
