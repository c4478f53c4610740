/**
 * The version of this package. The package reads no files, so
 * `pnpm release:version` writes it here; a test compares it with package.json.
 */
export const KIT_VERSION = "0.1.0";
