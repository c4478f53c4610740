import { describe } from "vitest";
import { testTaskStore } from "../testing/task-store.contract.ts";
import { MemoryTaskStore } from "./memory-task-store.ts";

describe("MemoryTaskStore", () =>
  testTaskStore(async () => new MemoryTaskStore(), "forgets"));
