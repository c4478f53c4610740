import { Writable } from "node:stream";
import type { Approver } from "../approval.ts";
import type { ChatOptions } from "../chat-options.ts";
import type { Io } from "../io.ts";
import { createAnswering } from "../session.ts";

/**
 * Creates the approver that answers questions in place of the user, according
 * to `--approve`; undefined if the user is asked.
 */
export function automaticApprover(
  { approve = "ask", approveWithoutSandbox }: ChatOptions,
  io: Io,
  tell: (text: string) => void,
): Approver | undefined {
  if (approve === "ask") return undefined;
  // The lines of the approver are notices of the chat.
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      tell(String(chunk).trimEnd());
      done();
    },
  });
  const how =
    approveWithoutSandbox === undefined
      ? { approve }
      : { approve, approveWithoutSandbox };
  return createAnswering(how, { ...io, stderr }, undefined).approve;
}
