// The names of common partition types.

/** By the first byte of an entry of an MBR. */
export const MBR_TYPES: Record<number, string> = {
  1: 'FAT12',
  4: 'FAT16',
  6: 'FAT16',
  7: 'NTFS or exFAT',
  11: 'FAT32',
  12: 'FAT32',
  14: 'FAT16',
  39: 'Windows recovery',
  130: 'Linux swap',
  131: 'Linux',
  142: 'Linux LVM',
  165: 'FreeBSD',
  166: 'OpenBSD',
  169: 'NetBSD',
  175: 'Apple HFS',
  239: 'EFI system',
  253: 'Linux RAID',
};

/** By the GUID of an entry of a GPT. */
export const GPT_TYPES: Record<string, string> = {
  'C12A7328-F81F-11D2-BA4B-00A0C93EC93B': 'EFI system',
  '21686148-6449-6E6F-744E-656564454649': 'BIOS boot',
  'E3C9E316-0B5C-4DB8-817D-F92DF00215AE': 'Microsoft reserved',
  'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7': 'Microsoft data',
  'DE94BBA4-06D1-4D40-A16A-BFD50179D6AC': 'Windows recovery',
  '0FC63DAF-8483-4772-8E79-3D69D8477DE4': 'Linux',
  '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709': 'Linux root',
  '44479540-F297-41B2-9AF7-D131D5F0458A': 'Linux root',
  'B921B045-1DF0-41C3-AF44-4C6F280D3FAE': 'Linux root',
  'BC13C2FF-59E6-4262-A352-B275FD6F7172': 'Linux boot',
  '933AC7E1-2EB4-4F13-B844-0E14E2AEF915': 'Linux home',
  '0657FD6D-A4AB-43C4-84E5-0933C84B4F4F': 'Linux swap',
  'E6D6D379-F507-44C2-A23C-238F2A3DF928': 'Linux LVM',
  'A19D880F-05FC-4D3B-A006-743F0F84911E': 'Linux RAID',
  'CA7D7CCB-63ED-4C53-861C-1742536059CC': 'Linux LUKS',
  '7C3457EF-0000-11AA-AA11-00306543ECAC': 'Apple APFS',
  '48465300-0000-11AA-AA11-00306543ECAC': 'Apple HFS+',
  '516E7CB4-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD data',
  '516E7CB6-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD UFS',
  '516E7CBA-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD ZFS',
};
