import { describe } from "vitest";
import { MemoryTaskStore } from "./memory-task-store.ts";
import { testTaskStore } from "./task-store.contract.ts";

describe("MemoryTaskStore", () =>
  testTaskStore(() => Promise.resolve(new MemoryTaskStore())));
