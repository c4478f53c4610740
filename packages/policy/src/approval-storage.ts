import type { PolicyFile } from "@devtool/schema";

/** The approvals that the user gave for good, as they are stored. */
export interface StoredApprovals {
  /** The approvals as rules, oldest first. All of them allow. */
  readonly file: PolicyFile;
  /**
   * Differs each time when approvals are stored. Versions are only compared, so
   * each storage chooses their form.
   */
  readonly version: string;
}

/**
 * Keeps the approvals that the user gave for good: in a file, or in a database
 * that servers share.
 */
export interface ApprovalStorage {
  /**
   * Reads the approvals as they are now; called for every decision.
   *
   * A rejection with a `PolicyError` means that what is stored cannot be used:
   * then no approval counts. Any other rejection fails the decision.
   */
  read(): Promise<StoredApprovals>;

  /**
   * Stores approvals, durably, in place of those that were read. Returns false,
   * and stores nothing, when others have been stored since.
   *
   * @param version the `StoredApprovals.version` that was read
   */
  replace(file: PolicyFile, version: string): Promise<boolean>;
}
