/**
 * The names of the built-in tools, those for background processes and for an
 * editor included.
 */
export const BUILTIN_TOOL_NAMES: readonly string[] = [
  "read_file",
  "read_many_files",
  "write_file",
  "replace",
  "multi_edit",
  "list_directory",
  "glob",
  "search_file_content",
  "run_shell_command",
  "read_background_output",
  "stop_background_process",
  "web_fetch",
  "save_memory",
  "update_plan",
  "ide_diagnostics",
  "ide_open_file",
];
