import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Bell } from "./bell.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

it("rings once for all that the chat waits for, when no key was pressed for ten seconds", () => {
  const ring = vi.fn();
  const bell = new Bell(ring, "a message");
  vi.advanceTimersByTime(20_000);
  bell.update("a message");
  bell.noteInput();
  bell.update(undefined);
  vi.advanceTimersByTime(9_999);
  bell.update("a question");
  expect(ring).not.toHaveBeenCalled();
  bell.update(undefined);
  vi.advanceTimersByTime(1);
  bell.update("a question");
  bell.update("a question");
  expect(ring).toHaveBeenCalledTimes(1);
  bell.update("another question");
  expect(ring).toHaveBeenCalledTimes(2);
});
