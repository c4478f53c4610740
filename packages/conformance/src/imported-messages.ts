// What the generated code of this package imports; see buf.gen.conformance.yaml.
export {
  file_devtool_v1alpha_task,
  file_devtool_v1alpha_task_event,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
