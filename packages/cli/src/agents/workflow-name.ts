/** Whether a path is that of a workflow, or of a mesh. */
export function isWorkflowFile(path: string): boolean {
  return /\.(ya?ml|toml)$/.test(path);
}

/** Whether a path is that of a mesh: one address for several agents. */
export function isMeshFile(path: string): boolean {
  return /\.mesh\.(ya?ml|toml)$/.test(path);
}
