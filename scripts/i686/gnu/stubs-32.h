/* glibc's headers for 64 bits serve 32 bits as well, but for this file, which lists nothing that matters here. */
