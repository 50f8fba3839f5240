// Imports an OVA into govmomi's simulated vCenter, and prints what it has become as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/ovf/importer"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type machine struct {
	Name     string  `json:"name"`
	Hardware string  `json:"hardware"`
	CPUs     int32   `json:"cpus"`
	MemoryMB int64   `json:"memoryMB"`
	Firmware string  `json:"firmware"`
	Disks    []int64 `json:"disks"`
}

// settings are those that the descriptor asks vSphere for.
func settings(archive importer.Archive) (*types.VirtualMachineConfigSpec, error) {
	descriptor, err := importer.ReadOvf("*.ovf", archive)
	if err != nil {
		return nil, err
	}
	envelope, err := importer.ReadEnvelope(descriptor)
	if err != nil {
		return nil, err
	}
	spec, err := envelope.ToConfigSpec()
	return &spec, err
}

func importMachine(ctx context.Context, client *vim25.Client, archive *importer.TapeArchive) (*object.VirtualMachine, error) {
	finder := find.NewFinder(client)
	datacenter, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		return nil, err
	}
	finder.SetDatacenter(datacenter)
	datastore, err := finder.DefaultDatastore(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := finder.ResourcePool(ctx, "DC0_C0/Resources")
	if err != nil {
		return nil, err
	}
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return nil, err
	}
	archive.Opener = importer.Opener{Client: client}
	imported := importer.Importer{
		Log:          func(string) (int, error) { return 0, nil },
		Client:       client,
		Finder:       finder,
		Datacenter:   datacenter,
		Datastore:    datastore,
		ResourcePool: pool,
		Folder:       folders.VmFolder,
		Archive:      archive,
	}
	reference, err := imported.Import(ctx, "*.ovf", importer.Options{DiskProvisioning: "thin"})
	if err != nil {
		return nil, err
	}
	return object.NewVirtualMachine(client, *reference), nil
}

func describe(ctx context.Context, vm *object.VirtualMachine, spec *types.VirtualMachineConfigSpec) (machine, error) {
	var found mo.VirtualMachine
	if err := vm.Properties(ctx, vm.Reference(), []string{"name"}, &found); err != nil {
		return machine{}, err
	}
	devices, err := vm.Device(ctx)
	if err != nil {
		return machine{}, err
	}
	var disks []int64
	for _, device := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		disks = append(disks, device.(*types.VirtualDisk).CapacityInBytes)
	}
	return machine{found.Name, spec.Version, spec.NumCPUs, spec.MemoryMB, spec.Firmware, disks}, nil
}

func main() {
	log.SetFlags(0)
	archive := &importer.TapeArchive{Path: os.Args[1]}
	spec, err := settings(archive)
	if err != nil {
		log.Fatal(err)
	}
	simulator.Test(func(ctx context.Context, client *vim25.Client) {
		vm, err := importMachine(ctx, client, archive)
		if err != nil {
			log.Fatal(err)
		}
		result, err := describe(ctx, vm, spec)
		if err != nil {
			log.Fatal(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			log.Fatal(err)
		}
	})
}
