/** Returns a name in camel case, such as `taskId` or `NotFound`, in snake_case. */
export function snakeCase(name: string): string {
  return name.replaceAll(/(?<!^)(?=[A-Z])/g, "_").toLowerCase();
}
