import { expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { openStore } from "./open-store.ts";

it("refuses a store of an application that lacks a method, and names it", async () => {
  const store = Object.assign(new MemoryTaskStore(), { list: undefined });
  await expect(openStore({ openStore: async () => store })).rejects.toThrow(
    "openStore: the store lacks list: add what is missing",
  );
});
