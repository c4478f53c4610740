/** The version of this package; a test holds it to package.json. */
export const KIT_VERSION = "0.1.0";
