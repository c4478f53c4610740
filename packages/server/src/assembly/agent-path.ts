/** Returns the path below which A2A 0.3 serves one of several agents. */
export function agentPath(name: string): string {
  return `/agents/${name}`;
}
