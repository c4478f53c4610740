import type { UntoldCancel } from "@devtool/schema";

/**
 * Keeps the cancellations that called agents could not be told, for all servers
 * that share a store. The server hands them to its agents, and does not read
 * them.
 */
export interface UntoldCancelStorage {
  /** Lists the ids of what is kept. */
  list(): Promise<readonly string[]>;

  /**
   * Reads a cancellation. Undefined when there is none. Rejects with
   * `Code.DataLoss` for one that no server wrote.
   */
  read(id: string): Promise<UntoldCancel | undefined>;

  /** Keeps a cancellation, durably, in place of one with the same id. */
  put(id: string, cancel: UntoldCancel): Promise<void>;

  /** Removes a cancellation. Returns whether there was one. */
  delete(id: string): Promise<boolean>;
}
