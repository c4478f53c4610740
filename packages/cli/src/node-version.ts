/** The oldest Node that runs the command: `engines` of package.json. */
const FLOOR = { major: 22, minor: 19 };

/** Says why a version of Node, for instance `22.19.0`, cannot run the command; empty when it can. */
export function nodeProblem(version: string): string {
  const parts = version.split(".").map(Number);
  const major = parts[0] || 0;
  const minor = parts[1] || 0;
  if (major > FLOOR.major || (major === FLOOR.major && minor >= FLOOR.minor)) return "";
  return `Node ${version} is too old: install Node ${FLOOR.major}.${FLOOR.minor} or newer`;
}
