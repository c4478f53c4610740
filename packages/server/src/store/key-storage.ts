import type { SigningKeyFile } from "@devtool/schema";

/** Keys as they are stored. */
export interface StoredKeys {
  readonly keys: SigningKeyFile;
  /** Differs each time when keys are stored. */
  readonly version: bigint;
}

/**
 * Keeps the keys with which servers sign agent cards and push notifications.
 */
export interface KeyStorage {
  /** Reads the keys; none before the first are stored. */
  read(): Promise<StoredKeys>;

  /**
   * Stores keys in place of those that were read. Returns false when another
   * server has stored others since.
   */
  replace(keys: SigningKeyFile, version: bigint): Promise<boolean>;
}
