import { describe } from "vitest";
import { testPushConfigStore } from "../testing/push-config-store.contract.ts";
import { MemoryPushConfigStore } from "./memory-push-config-store.ts";

describe("MemoryPushConfigStore", () => {
  const open = async () => ({
    configs: new MemoryPushConfigStore(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  testPushConfigStore(open, "forgets");
});
