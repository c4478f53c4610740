import { vi } from "vitest";

/** How long an agent may take to be told of a cancellation, in milliseconds. */
const CANCEL_MS = 5000;

/**
 * Lets agents of this process take two minutes for that, until it is disposed
 * of: a busy machine takes longer than the limit, and the agent would be told
 * later.
 */
export function patientCancels(): Disposable {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  return vi
    .spyOn(AbortSignal, "timeout")
    .mockImplementation((ms) => timeout(ms === CANCEL_MS ? 120_000 : ms));
}
