/** The oldest supported version of Node, as in `engines` of package.json. */
const FLOOR = { major: 22, minor: 19 };

/**
 * Returns why a version of Node, such as `22.19.0`, cannot run the command; an
 * empty string when it can.
 */
export function nodeProblem(version: string): string {
  const parts = version.split(".").map(Number);
  const major = parts[0] || 0;
  const minor = parts[1] || 0;
  if (major > FLOOR.major || (major === FLOOR.major && minor >= FLOOR.minor)) {
    return "";
  }
  return `Node ${version} is too old: install Node ${FLOOR.major}.${FLOOR.minor} or newer`;
}
