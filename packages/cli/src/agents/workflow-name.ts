/** Whether a path is that of a workflow. */
export function isWorkflowFile(path: string): boolean {
  return /\.(ya?ml|toml)$/.test(path);
}
