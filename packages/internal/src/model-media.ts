/** The types of images and sounds that models take. */
export const MODEL_MEDIA: RegExp =
  /^(image\/(png|jpeg|gif|webp)|audio\/(wav|mpeg|mp3|aiff|aac|ogg|flac))$/;
