import { describe } from "vitest";
import { MemoryPushConfigStore } from "./memory-push-config-store.ts";
import { testPushConfigStore } from "./push-config-store.contract.ts";

describe("MemoryPushConfigStore", () => {
  testPushConfigStore(async () => ({
    configs: new MemoryPushConfigStore(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }));
});
