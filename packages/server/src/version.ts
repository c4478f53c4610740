/**
 * The version of this package. Bundles have no package.json beside them, so
 * `pnpm release:version` writes it here; a test compares it with package.json.
 */
export const VERSION = "0.1.0";
