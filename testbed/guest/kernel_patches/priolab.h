/* What the lab's C files in the guest's kernel offer to the kernel's own files. */
#ifndef PRIOLAB_H
#define PRIOLAB_H

struct faultinfo;
struct mm_struct;
struct task_struct;
struct time_travel_event;
struct uml_pt_regs;
struct vm_area_struct;
struct vm_special_mapping;

/* clock.c */
extern unsigned long priolab_syscalls;
void priolab_begin_syscall(int number);

/*
 * clock_page.c. now: the guest's clock in ns. due: when the next event is due; 0 if programs may not advance the clock.
 * offset: what CLOCK_REALTIME and CLOCK_MONOTONIC have in addition to `now`, in ns. seconds: what time(2) returns.
 */
struct priolab_clock {
	unsigned long long now, due, offset[2], seconds;
};

#define PRIOLAB_READ_NS 256

extern struct priolab_clock *priolab_clock;
void priolab_renew_due(struct time_travel_event *first);
struct vm_area_struct *priolab_map_clock(struct mm_struct *mm, unsigned long vdso, unsigned long length,
					 unsigned long flags, const struct vm_special_mapping *mapping);

/* calls.c */
void priolab_count_call(int number);
unsigned long priolab_switches(struct task_struct *task, int voluntary);

/* service.c */
void priolab_sends(int bytes);
void priolab_serve(unsigned long switches);

/* spin.c */
void priolab_spin(int number, long returned, unsigned long switches);

/* ports.c */
void priolab_forget_ports(void);

/* seed.c */
extern _Bool priolab_seeded;
extern unsigned long long priolab_seeded_at;

/* processor_clock.c */
extern int priolab_no_tsc;
_Bool priolab_reads_tsc(struct uml_pt_regs *regs);

/* fp.c */
int priolab_leave_fp(struct uml_pt_regs *regs, int pid);
void priolab_keep_fp(struct uml_pt_regs *regs);
void priolab_keep_fp_of(struct task_struct *task);
void priolab_keep_fp_for(struct uml_pt_regs *regs, long number);

/* threads.c */
void priolab_thread_handler(void);

/* faults.c and map_present.c */
void priolab_fault_around(struct vm_area_struct *vma, unsigned long address, int is_write);
void priolab_map_present(struct mm_struct *mm, unsigned long addr, unsigned long end);

/* fault_info.c */
_Bool priolab_knows_fault(int code, void *address, struct faultinfo *fault);
int priolab_writes(struct vm_area_struct *vma, unsigned long address);

#endif
