declare global {
  interface FileSystemDirectoryHandle {}
  interface FileSystemFileHandle {}
  interface Response {}
  interface Worker {}
}
