/** In single quotes. */
export function single(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** In double quotes. */
export function double(value: string): string {
  return `"${value.replaceAll(/[\\"$`]/g, "\\$&")}"`;
}

/** With a backslash before each sign; a line end cannot have one. */
export function escaped(value: string): string {
  return value.includes("\n")
    ? single(value)
    : value.replaceAll(/[^\w./-]/g, "\\$&");
}
