import type { PolicyFile } from "@devtool/schema";

/** Approvals as they are stored. */
export interface StoredApprovals {
  /** The approvals as policy rules, oldest first. */
  readonly file: PolicyFile;
  /** Differs each time when approvals are stored. */
  readonly version: string;
}

/**
 * Keeps the approvals that the operator gave for good, for all servers that
 * share a store. The server hands them to its agents, and does not read them.
 */
export interface ApprovalStorage {
  /** Reads the approvals as they are now. */
  read(): Promise<StoredApprovals>;

  /**
   * Stores approvals in place of those that were read. Returns false when
   * another server has stored others since.
   */
  replace(file: PolicyFile, version: string): Promise<boolean>;
}
